import { describeAttack } from "#test/adversarial/describe-attack.ts";

// The relay reads the backlog of a flood at the cluster's pace, also after its end: at most half a minute.
describeAttack("modified-flood", { limits: ["watchPace"], healsLater: true });
describeAttack("bookmark-flood", { healsLater: true });
describeAttack("flapping-nodes", { healsLater: true });
