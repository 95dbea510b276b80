//! What goes wrong around the program: signals, full disks, inputs that change, outputs that are in the way, damage, limits.
//! One rule runs through all of it: an output is complete under its name or it is not there, and who failed says so.

mod damage;
mod descriptors;
mod inputs;
mod limits;
mod memory;
mod metadata;
mod outputs;
mod signals;
mod standard_output;
