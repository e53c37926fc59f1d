import { describeAttack } from "#test/hostile/describe-attack.ts";

describeAttack("slow-answers", { healsLater: true });
