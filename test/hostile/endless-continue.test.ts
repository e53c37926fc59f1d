import { describeAttack } from "#test/hostile/describe-attack.ts";

describeAttack("endless-continue", { limits: ["objects", "listBytes", "listPages"] });
describeAttack("endless-empty-pages", { limits: ["listPages"] });
