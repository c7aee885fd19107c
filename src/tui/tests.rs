//! Keys in, state and screen out; nothing here touches a database, a store or a terminal.

mod files;
mod filter;
mod keys;
mod lists;
mod marks;
mod opening;
mod order;
mod retention;
mod sanitising;
mod screens;
mod words;
mod world;
