//! Threads that libc does not know of: no allocation, no thread-local storage, no signal, a stack of a few pages. They live in one call
//! of the program (or, for `ahead`, as long as there is something to do), and make calls of the kernel only.
#![expect(unsafe_code, reason = "a boundary: clone(2) with a stack of our own")]

use crate::boundary::calls::{self, Errno};
use core::sync::atomic::{AtomicU32, Ordering};

/// LIMIT: the deepest call here needs some hundred bytes.
pub const STACK_BYTES: usize = 32 << 10;

/// Left above the first frame: debuggers take an address that is the end of a mapping for one outside of it.
pub const MARGIN: usize = 64;

/// Stacks for threads that end before this does.
pub struct Threads<const COUNT: usize> {
    stacks: usize,
    most: usize,
    started: usize,
    /// Not zero while a thread lives; the kernel clears it at its end and wakes.
    lives: [AtomicU32; COUNT],
}

impl<const COUNT: usize> Threads<COUNT> {
    /// Room for `most` threads, before any of them populates: taking memory waits for all that do. No threads where there is none.
    pub fn new(most: usize) -> Self {
        let most = most.min(COUNT);
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        let stacks = if most == 0 { Err(0) } else { calls::map(0, most * STACK_BYTES, protection, flags, -1, 0) };
        let most = if stacks.is_ok() { most } else { 0 };
        Self { stacks: stacks.unwrap_or(0), most, started: 0, lives: [const { AtomicU32::new(0) }; COUNT] }
    }

    /// How many were started.
    pub fn started(&self) -> usize {
        self.started
    }

    /// Whether there is room for another.
    pub fn has_room(&self) -> bool {
        self.started < self.most
    }

    /// Starts one that runs `work`. The caller holds all signals back, which the thread inherits, and calls `join` before what
    /// `argument` borrows ends.
    pub fn start<Argument: Sync>(&mut self, work: extern "C" fn(&Argument), argument: &Argument) -> Result<(), Errno> {
        let Some(lives) = self.lives.get(self.started).filter(|_| self.has_room()) else { return Err(libc::EAGAIN) };
        let top = self.stacks + (self.started + 1) * STACK_BYTES - MARGIN;
        lives.store(1, Ordering::SeqCst);
        // SAFETY: the stack is a whole one of ours that no other thread has; `argument` and the word outlive the thread by contract, since
        // this is joined when dropped; a reference is a pointer.
        let outcome = unsafe { clone(top, lives.as_ptr(), work as usize, (&raw const *argument).expose_provenance()) };
        match outcome {
            Ok(()) => self.started += 1,
            Err(_) => lives.store(0, Ordering::SeqCst),
        }
        outcome
    }

    /// Waits for the end of all.
    pub fn join(&self) {
        for lives in &self.lives[..self.started.min(COUNT)] {
            while lives.load(Ordering::Acquire) != 0 {
                // The kernel's own wake is the only one; the time is for nothing but safety.
                calls::wait(lives, lives.load(Ordering::Acquire).max(1), 50_000_000);
            }
        }
    }
}

impl<const COUNT: usize> Drop for Threads<COUNT> {
    fn drop(&mut self) {
        self.join();
        if self.most > 0 {
            let _ours = calls::unmap(self.stacks, self.most * STACK_BYTES);
        }
    }
}

/// Starts a thread that lives on by itself; the word is not 0 before, and 0 once it has ended. All signals are held back, and `stack_top` is the end of
/// a stack that is its own until then.
pub fn start_alone(stack_top: usize, work: extern "C" fn(&()), lives: &AtomicU32) -> Result<(), Errno> {
    // SAFETY: the stack is the thread's alone by contract, the word lives as long as the process's page, and the argument is never looked at.
    unsafe {
        clone(stack_top - MARGIN, lives.as_ptr(), work as usize, (&raw const LOOKED_AT_BY_NOBODY).expose_provenance())
    }
}

static LOOKED_AT_BY_NOBODY: () = ();

/// As pthread_create(3) has it, but for thread-local storage: these threads have none of their own and look at none.
const FLAGS: i32 = libc::CLONE_VM
    | libc::CLONE_FS
    | libc::CLONE_FILES
    | libc::CLONE_SIGHAND
    | libc::CLONE_THREAD
    | libc::CLONE_SYSVSEM
    | libc::CLONE_CHILD_CLEARTID;

/// # Safety
/// `top` is the end of a writable stack that no other thread has until the word at `lives` is 0; `work` is an `extern "C"` function of
/// one argument that never unwinds, and `argument` is good for it. All signals are held back.
#[cfg(target_arch = "x86_64")]
unsafe fn clone(top: usize, lives: *mut u32, work: usize, argument: usize) -> Result<(), Errno> {
    let outcome: isize;
    // SAFETY: the kernel returns twice: here with every register but three as it was, and in the new thread on its own stack, which
    // calls `work` and ends without ever coming back to this code.
    unsafe {
        core::arch::asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "xor ebp, ebp",
            "mov rdi, r13",
            "call r12",
            "xor edi, edi",
            "mov eax, 60",
            "syscall",
            "ud2",
            "2:",
            inlateout("rax") libc::SYS_clone as isize => outcome,
            in("rdi") FLAGS as usize,
            in("rsi") top,
            in("rdx") 0_usize,
            in("r10") lives,
            in("r8") 0_usize,
            in("r12") work,
            in("r13") argument,
            lateout("rcx") _,
            lateout("r11") _,
        );
    }
    if outcome < 0 { Err(-outcome as Errno) } else { Ok(()) }
}

/// # Safety
/// Nothing is done.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn clone(_top: usize, _lives: *mut u32, _work: usize, _argument: usize) -> Result<(), Errno> {
    // LIMIT: the assembler above is for one architecture; elsewhere the program's thread populates alone.
    Err(libc::ENOSYS)
}
