import { describeAttack } from "#test/adversarial/describe-attack.ts";

describeAttack("slow-answers", { healsLater: true });
