//! Keys in, state and screen out; nothing here touches a database, a store or a terminal.

mod acting;
mod acting_screens;
mod driving;
mod files;
mod filter;
mod folds;
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
mod position;
mod retention;
mod sanitising;
mod screens;
mod search;
mod syntax;
mod views;
mod words;
mod world;
mod wrap;
