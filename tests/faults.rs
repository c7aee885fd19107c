//! Every step can fail: each system call and each exchange with a server, once and from then on. What comes
//! out is what comes out without a fault, or one clear line with the destination as it was.
#![cfg(target_os = "linux")]

mod common;
#[path = "faults/files.rs"]
mod files;
#[path = "faults/layer.rs"]
mod layer;
#[path = "faults/network.rs"]
mod network;
#[path = "faults/poisoned.rs"]
mod poisoned;
#[path = "faults/scene.rs"]
mod scene;
#[path = "faults/sqlite.rs"]
mod sqlite;
#[path = "faults/stores.rs"]
mod stores;
#[path = "faults/verify.rs"]
mod verify;
