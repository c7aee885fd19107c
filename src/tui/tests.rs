//! Keys in, state and screen out; nothing here touches a database, a store or a terminal.

mod filter;
mod keys;
mod lists;
mod marks;
mod order;
mod retention;
mod sanitising;
mod screens;
mod words;
mod world;
