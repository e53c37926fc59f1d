import { describeAttack } from "#test/hostile/describe-attack.ts";

describeAttack("endless-continue", { limits: ["objects", "listBytes", "listPages"] });
// Twenty pages a second and no object: the list is given up after a thousand.
describeAttack("endless-empty-pages");
