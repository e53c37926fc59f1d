import { describeAttack } from "#test/hostile/describe-attack.ts";

describeAttack("one-byte-frames", { limits: ["watchPieces", "watchLineBytes"] });
describeAttack("one-byte-page", { limits: ["watchPieces", "pageBytes"] });
