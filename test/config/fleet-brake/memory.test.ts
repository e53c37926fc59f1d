import { describe } from "vitest";
import { memoryRecord } from "#config/fleet-brake/memory-record.ts";
import { describeRecord } from "#test/config/fleet-brake/record-contract.ts";

describe("a record in memory", () => describeRecord(async () => memoryRecord(), { isAlwaysThere: true }));
