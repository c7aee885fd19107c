//! Keys in, state and screen out; nothing here touches a database, a store or a terminal.

mod files;
mod keys;
mod lists;
mod opening;
mod sanitising;
mod screens;
mod words;
mod world;
