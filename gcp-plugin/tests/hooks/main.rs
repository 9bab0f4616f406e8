//! The clients against a server of their own on this machine.

mod recorder;
