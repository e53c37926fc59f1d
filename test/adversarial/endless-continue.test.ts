import { describeAttack } from "#test/adversarial/describe-attack.ts";

describeAttack("endless-continue", { limits: ["objects", "listBytes", "listPages"] });
// Twenty pages a second without an object: the list is given up after a thousand.
describeAttack("endless-empty-pages");
