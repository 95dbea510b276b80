//! A load of our own making: one spinning thread of normal priority on each CPU, for as long as the value lives.

use crate::pinned::stay_on;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Keeps CPUs busy until it is dropped.
pub struct Load {
    is_over: Arc<AtomicBool>,
    spinners: Vec<JoinHandle<()>>,
}

impl Load {
    /// Keeps these CPUs busy.
    pub fn on(cpus: &[usize]) -> io::Result<Self> {
        let mut load = Self { is_over: Arc::default(), spinners: Vec::with_capacity(cpus.len()) };
        for &cpu in cpus {
            let is_over = Arc::clone(&load.is_over);
            let spin = move || {
                // A CPU that was switched off meanwhile leaves the thread where it is.
                let _stays_anywhere = stay_on(cpu);
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            };
            load.spinners.push(std::thread::Builder::new().name("load".to_owned()).spawn(spin)?);
        }
        Ok(load)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for spinner in self.spinners.drain(..) {
            // They do nothing that could panic.
            let _ended = spinner.join();
        }
    }
}
