//! The primitives that control parts are built from, swappable for a model checker's.
//!
//! Compiled with `--cfg cloud_governor_loom`, the same code runs under loom, which tries every interleaving
//! (`src/models.rs`). No lock here is ever held across a wait or while a waker is called.
//!
//! No lock is poisoned by a panic in its holder's thread: what is guarded is a plain value that every method leaves
//! consistent. To look for poison at every lock and every unlock would cost a call more than the locks do.

#[cfg(cloud_governor_loom)]
mod modelled;

#[cfg(cloud_governor_loom)]
pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};
#[cfg(cloud_governor_loom)]
pub(crate) use modelled::{Mutex, MutexGuard};
#[cfg(not(cloud_governor_loom))]
pub(crate) use parking_lot::{Mutex, MutexGuard};
/// No model has one of these.
pub(crate) use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
#[cfg(not(cloud_governor_loom))]
pub(crate) use std::sync::atomic::{AtomicU64, Ordering};
