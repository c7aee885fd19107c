//! Keys in, state and screen out; nothing here touches a database, a store or a terminal.

mod folds;
mod keys;
mod lists;
mod position;
mod sanitising;
mod screens;
mod search;
mod syntax;
mod words;
mod world;
mod wrap;
