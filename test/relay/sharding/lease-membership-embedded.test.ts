import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe } from "vitest";
import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { describeMembership } from "#test/relay/sharding/lease-membership-contract.ts";

describe("replicas on the embedded API server", () => {
  describeMembership(async () =>
    startEmbeddedControlPlane({ folder: await mkdtemp(join(tmpdir(), "membership-")) }),
  );
});
