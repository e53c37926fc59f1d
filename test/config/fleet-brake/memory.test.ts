import { describe } from "vitest";
import { createMemoryRecord } from "#config/fleet-brake/memory-record.ts";
import { describeRecord } from "#test/config/fleet-brake/record-contract.ts";

describe("a record in memory", () =>
  describeRecord(async () => createMemoryRecord(), { isAlwaysThere: true }));
