//! Memory in huge pages (`madvise(2)`, MADV_HUGEPAGE): one entry of the processor's tables of pages for what else takes 512.
//! Where the kernel has none to give, or does not, it is memory as any other.

use rustix::mm::{Advice, madvise};
use std::mem::MaybeUninit;

/// A huge page of x86-64, and of other processors with pages of 4 KiB.
pub const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Memory for a value that begins where a huge page does, on the heap from the beginning.
pub fn boxed<T>() -> Box<MaybeUninit<T>> {
    const { assert!(align_of::<T>() == HUGE_PAGE_BYTES, "it begins with a page, and ends with one") };
    let mut memory = Box::<T>::new_uninit();
    // SAFETY: whole pages of our own, of which nothing has to be kept. A refusal changes nothing.
    let _refused = unsafe { madvise(memory.as_mut_ptr().cast(), size_of::<T>(), Advice::LinuxHugepage) };
    memory
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(align(0x20_0000))]
    struct Paged([u8; 3 << 20]);

    #[test]
    fn whole_pages_can_be_written() {
        let mut memory = boxed::<Paged>();
        assert_eq!((memory.as_ptr().addr() % HUGE_PAGE_BYTES, size_of::<Paged>()), (0, 2 * HUGE_PAGE_BYTES));
        // SAFETY: bytes are bytes.
        let memory = unsafe {
            memory.as_mut_ptr().write_bytes(7, 1);
            memory.assume_init()
        };
        assert!(memory.0.iter().all(|&byte| byte == 7));
    }

    #[test]
    fn the_kernel_is_asked() {
        if !std::fs::exists("/sys/kernel/mm/transparent_hugepage").expect("sysfs can be asked") {
            return testkit::program::left_out("this kernel has no huge pages to ask for");
        }
        let memory = boxed::<Paged>();
        let maps = std::fs::read_to_string("/proc/self/smaps").expect("procfs can be read");
        let (mut is_inside, mut flags) = (false, "");
        for line in maps.lines() {
            let range = line.split(' ').next().and_then(|range| range.split_once('-'));
            let bounds = range.map(|(from, to)| (usize::from_str_radix(from, 16), usize::from_str_radix(to, 16)));
            if let Some((Ok(from), Ok(to))) = bounds {
                is_inside = (from..to).contains(&memory.as_ptr().addr());
            } else if is_inside && let Some(of_it) = line.strip_prefix("VmFlags:") {
                flags = of_it;
            }
        }
        assert!(flags.split_whitespace().any(|flag| flag == "hg"), "{flags}");
    }
}
