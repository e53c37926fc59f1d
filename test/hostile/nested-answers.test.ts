import { describeAttack } from "#test/hostile/describe-attack.ts";

describeAttack("nested-answers", { limits: ["answerBytes"] });
