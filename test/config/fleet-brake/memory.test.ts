import { describe } from "vitest";
import { createMemoryRecord } from "#config/fleet-brake/open-record.ts";
import { describeRecord } from "#test/config/fleet-brake/record-contract.ts";

describe("a record in memory", () =>
  describeRecord(async () => createMemoryRecord(), { isAlwaysThere: true }));
