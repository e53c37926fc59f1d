import { describeAttack } from "#test/hostile/describe-attack.ts";

describeAttack("failing-nodes");
