import { createBurst } from "#test/faults/burst.ts";
import { NODES, type Row } from "#test/faults/row.ts";

const KILLS = 10;

/** Faults of relays and of the functions' processes. */
export const RELAY_ROWS: readonly Row[] = [
  { name: "nothing at all", play: createBurst({}) },
  {
    name: "relay killed at 10 points",
    isQuick: true,
    async play(stage) {
      for (let kill = 0; kill < KILLS; kill += 1) {
        const relay = await stage.startRelayProcess();
        const before = (await stage.audit()).length;
        const joining = stage.join(NODES / KILLS);
        await stage.afterWrites(stage.random.whole(1, NODES / KILLS));
        await relay.stop("SIGKILL");
        await joining;
        if ((await stage.audit()).length === before)
          throw new Error("the relay was killed before its first write");
      }
      await stage.startRelayProcess();
      await stage.untilUp();
    },
  },
  {
    name: "functions killed at 10 points",
    async play(stage) {
      await stage.startRelay();
      let functions = await stage.startFunctionProcess();
      stage.platform.runWith(functions.run);
      for (let kill = 0; kill < KILLS; kill += 1) {
        const joining = stage.join(NODES / KILLS);
        await stage.afterWrites(stage.random.whole(1, NODES / KILLS));
        await functions.process.stop("SIGKILL");
        functions = await stage.startFunctionProcess();
        stage.platform.runWith(functions.run);
        await joining;
      }
      await stage.untilUp();
    },
  },
  {
    name: "two relays for a whole burst",
    isQuick: true,
    async play(stage) {
      await stage.startRelay();
      await createBurst({})(stage);
    },
  },
];
