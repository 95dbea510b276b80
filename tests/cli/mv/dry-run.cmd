# Says what would be renamed, and refuses what a real run refuses.
mkdir -p d/e; touch a; mh mv --dry-run a b; mh mv --dry-run d d/e; mh mv --dry-run d d/e/f/; mh mv --dry-run d d; mh mv --dry-run d b; ls
