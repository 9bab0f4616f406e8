//! The primitives that control parts are built from, swappable for a model checker's.
//!
//! Compiled with `--cfg cloud_governor_loom`, the same code runs under loom, which tries every interleaving
//! (`src/models.rs`). No lock here is ever held across a wait or while a waker is called.

#[cfg(cloud_governor_loom)]
use loom::sync as primitives;
#[cfg(not(cloud_governor_loom))]
use std::sync as primitives;

pub(crate) use primitives::atomic::{AtomicU64, Ordering};

/// A mutex whose guarded state is a plain value that every method leaves consistent: a panic elsewhere in a
/// holder's thread does not make it unusable.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(primitives::Mutex<T>);

pub(crate) type MutexGuard<'a, T> = primitives::MutexGuard<'a, T>;

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Mutex(primitives::Mutex::new(value))
    }

    /// Of a mutex that nobody else can lock.
    pub(crate) fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
