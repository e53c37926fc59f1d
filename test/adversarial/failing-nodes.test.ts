import { describeAttack } from "#test/adversarial/describe-attack.ts";

describeAttack("failing-nodes");
