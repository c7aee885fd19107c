//! Keys in, state and screen out; nothing here touches a database, a store or a terminal.

mod acting;
mod help_palette;
mod keyconfig;
mod keys;
mod lists;
mod sanitising;
mod screens;
mod words;
mod world;
