//! Keys in, state and screen out; nothing here touches a database, a store or a terminal.

mod driving;
mod keys;
mod linear;
mod lists;
mod look;
mod outside;
mod sanitising;
mod screens;
mod words;
mod world;
