import { describeAttack } from "#test/hostile/describe-attack.ts";

describeAttack("endless-added", { limits: ["objects", "watchPace"] });
