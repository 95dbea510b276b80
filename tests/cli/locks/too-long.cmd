# A number without a unit is seconds, as everywhere; what cannot be meant so is refused
mh locks --hold 100
