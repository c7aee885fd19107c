//! Keys in, state and screen out; nothing here touches a database, a store or a terminal.

mod driving;
mod files;
mod filter;
mod keys;
mod linear;
mod lists;
mod look;
mod marks;
mod opening;
mod order;
mod outside;
mod retention;
mod sanitising;
mod screens;
mod words;
mod world;
