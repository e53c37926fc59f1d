import { describeAttack } from "#test/hostile/describe-attack.ts";

// What has come of a flood is read at the cluster's pace, also once the flood is over: half a minute of it at most.
describeAttack("modified-flood", { limits: ["watchPace"], healsLater: true });
describeAttack("bookmark-flood", { healsLater: true });
describeAttack("flapping-nodes", { healsLater: true });
