# A number without a unit would mean something else to every call.
mh timers --wait 100
