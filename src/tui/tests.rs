//! Keys in, state and screen out; nothing here touches a database, a store or a terminal.

mod acting;
mod acting_screens;
mod driving;
mod files;
mod filter;
mod help_palette;
mod keyconfig;
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
