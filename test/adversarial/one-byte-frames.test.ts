import { describeAttack } from "#test/adversarial/describe-attack.ts";

describeAttack("one-byte-frames", { limits: ["watchPieces"] });
describeAttack("one-byte-page", { limits: ["answerPieces"] });
