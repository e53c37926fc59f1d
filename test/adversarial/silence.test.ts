import { describeAttack } from "#test/adversarial/describe-attack.ts";

describeAttack("silence", { healsLater: true });
