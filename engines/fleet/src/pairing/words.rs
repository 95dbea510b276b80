//! Words of codes: short, and none sounds like another one. A byte each.

/// By byte.
#[rustfmt::skip]
pub(super) const WORDS: [&str; 256] = [
    "acorn", "actor", "album", "alder", "amber", "angle", "apple", "arena", "armor", "arrow", "aspen", "atlas",
    "autumn", "avenue", "bacon", "badge", "bagel", "bamboo", "banjo", "barley", "basket", "beacon", "beaver", "berry",
    "bishop", "bison", "blanket", "blossom", "bonnet", "border", "bottle", "branch", "bridge", "bronze", "brother",
    "bucket", "buffalo", "butter", "button", "cabin", "cable", "cactus", "camel", "canal", "candle", "canoe",
    "canvas", "canyon", "carbon", "cargo", "carpet", "carrot", "castle", "cedar", "cellar", "cement", "cherry",
    "chess", "chimney", "cinema", "circle", "citrus", "clover", "coconut", "coffee", "collar", "comet", "copper",
    "coral", "cotton", "cousin", "cricket", "crystal", "cupboard", "curtain", "cushion", "dagger", "daisy", "dancer",
    "desert", "diamond", "dinner", "doctor", "dolphin", "donkey", "dragon", "drummer", "eagle", "easter", "echo",
    "elbow", "elephant", "ember", "engine", "envelope", "fabric", "falcon", "family", "farmer", "feather", "fender",
    "fiddle", "finger", "flamingo", "flower", "forest", "fossil", "fountain", "fox", "freckle", "galaxy", "garden",
    "garlic", "garnet", "ginger", "giraffe", "glacier", "goblet", "golden", "gorilla", "grape", "gravel", "guitar",
    "hammer", "harbor", "harvest", "hazel", "helmet", "hermit", "hockey", "honey", "horizon", "hornet", "hotel",
    "iceberg", "igloo", "indigo", "insect", "island", "ivory", "jacket", "jaguar", "jasmine", "jelly", "jigsaw",
    "juniper", "kernel", "kettle", "kitchen", "kitten", "koala", "ladder", "lagoon", "lantern", "laser", "lavender",
    "lemon", "leopard", "letter", "lilac", "lizard", "lobster", "locket", "lotus", "lumber", "magnet", "mango",
    "maple", "marble", "market", "meadow", "melon", "mirror", "mitten", "monkey", "morning", "mosaic", "motor",
    "mountain", "muffin", "mustard", "napkin", "nectar", "needle", "nephew", "nickel", "noodle", "nutmeg", "oasis",
    "ocean", "olive", "onion", "opera", "orange", "orbit", "orchid", "otter", "oxygen", "oyster", "paddle", "palace",
    "panda", "paper", "parade", "parrot", "pebble", "pelican", "pencil", "pepper", "piano", "picnic", "pigeon",
    "pillow", "planet", "plaster", "pocket", "pony", "poppy", "potato", "prairie", "puzzle", "pyramid", "quartz",
    "rabbit", "radish", "raven", "ribbon", "river", "rocket", "saddle", "saffron", "salad", "sandal", "saturn",
    "shadow", "silver", "spider", "sunset", "table", "teapot", "temple", "thunder", "tiger", "timber", "tomato",
    "tractor", "tulip", "tunnel", "turtle", "umbrella", "velvet", "village", "violin", "walnut", "whale", "willow",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_plain_and_in_order() {
        assert!(WORDS.is_sorted_by(|one, other| one < other));
        assert!(WORDS.iter().all(|word| word.len() >= 3 && word.bytes().all(|byte| byte.is_ascii_lowercase())));
    }
}
