//! When the library is loaded: whether a ledger is there.
#![expect(unsafe_code, reason = "a boundary: runs before the program")]

use crate::boundary::shared;
use core::ffi::CStr;

/// The path of the ledger.
const LEDGER: &CStr = c"MH_PREFAULT_LEDGER";
/// A program that has `off` in it is left alone.
const SWITCH: &CStr = c"MH_PREFAULT";

/// SAFETY: the loader calls it, as it calls every function in this section; it has the section's signature.
#[cfg_attr(not(test), used, unsafe(link_section = ".init_array"))]
pub static START: extern "C" fn() = start;

extern "C" fn start() {
    let switch = variable(SWITCH);
    if switch.is_none_or(|value| value != c"off")
        && let Some(path) = variable(LEDGER)
    {
        shared::join(path);
    }
}

fn variable(name: &CStr) -> Option<&'static CStr> {
    // SAFETY: no other thread is there yet that could change the environment; a value ends with a zero and stays.
    unsafe {
        let value = libc::getenv(name.as_ptr());
        (!value.is_null()).then(|| CStr::from_ptr(value))
    }
}
