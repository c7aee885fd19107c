//! Keys in, state and screen out; nothing here touches a database, a store or a terminal.

mod acting;
mod acting_screens;
mod files;
mod help_palette;
mod keyconfig;
mod keys;
mod lists;
mod opening;
mod sanitising;
mod screens;
mod words;
mod world;
