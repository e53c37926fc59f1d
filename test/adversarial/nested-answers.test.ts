import { describeAttack } from "#test/adversarial/describe-attack.ts";

describeAttack("nested-answers", { limits: ["answerBytes"] });
