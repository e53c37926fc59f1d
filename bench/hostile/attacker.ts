import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { constants, setPriority } from "node:os";
import * as z from "zod";
import { ALL_ATTACKS } from "#bench/hostile/attack-rows.ts";
import { type BurningServer, burn } from "#bench/hostile/burn.ts";
import { HOSTILE } from "#bench/hostile/watch-phase.ts";
import { toTenant } from "#bench/idle/tenant.ts";
import { startHostileServer } from "#test/adversarial/server.ts";

// Runs the hostile API server in its own process, at the lowest priority: `node attacker.ts OPTIONS TENANT`.
// OPTIONS is a file of `AttackerOptions`; the program writes the cluster's location to the file TENANT. It
// prints the address of its controls: POST /attack/NAME, /noise/NAME, /rest; GET /sent.

/** The options of the attacker. */
const machine = z.strictObject({ name: z.string(), providerID: z.string() });
const AttackerOptions = z.strictObject({
  folder: z.string(),
  bytesPerSecond: z.number().positive(),
  machines: z.array(machine),
  others: z.array(machine),
});

const [optionsFile = "", tenantFile = ""] = process.argv.slice(2);
setPriority(constants.priority.PRIORITY_LOW);
const options = AttackerOptions.parse(JSON.parse(await readFile(optionsFile, "utf8")));
const hostile = await startHostileServer(options);
await writeFile(tenantFile, JSON.stringify(toTenant(HOSTILE, hostile.plane)));
let noise: BurningServer | undefined;
let noiseBytes = 0;
let noises = 0;

async function obey(order: string): Promise<string> {
  const [, kind, name] = /^\/(attack|noise)\/(.+)$/.exec(order) ?? [];
  const attack = ALL_ATTACKS.find((each) => each === name);
  if (attack !== undefined && kind === "attack") {
    await hostile.attack(attack);
    return "attacking";
  }
  if (attack !== undefined) {
    noises += 1;
    noise ??= await burn({ ...options, folder: `${options.folder}-noise-${noises}` }, attack);
    return "burning";
  }
  switch (order) {
    case "/rest":
      noiseBytes += noise?.sentBytes() ?? 0;
      await noise?.stop();
      noise = undefined;
      await hostile.rest();
      return "at rest";
    case "/sent":
      return String(hostile.sentBytes() + noiseBytes + (noise?.sentBytes() ?? 0));
    default:
      throw new Error(`there is no order ${order}`);
  }
}

const server = createServer((request, response) => {
  obey(request.url ?? "").then(
    (text) => response.end(text),
    (error: unknown) => response.writeHead(500).end(String(error)),
  );
});
server.listen(0, "127.0.0.1", () => {
  process.stdout.write(`orders at http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
