import { afterAll, beforeAll, expect, test } from "vitest";
import type { RecordStore } from "#config/fleet-brake/fleet-brake.ts";
import { openRecord } from "#config/fleet-brake/open-record.ts";
import { describeRecord } from "#test/config/fleet-brake/record-contract.ts";
import { type Moto, startMoto } from "#test/setup/moto.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const ENVIRONMENT = {
  AWS_ACCESS_KEY_ID: "test",
  AWS_SECRET_ACCESS_KEY: "test",
  AWS_REGION: "eu-central-1",
} as const;

const { signal } = new AbortController();
let moto: Moto;
let records = 0;

describeWithPart("moto", "a record in S3", (program) => {
  beforeAll(async () => {
    moto = await startMoto(program);
    Object.assign(process.env, ENVIRONMENT, { AWS_ENDPOINT_URL_S3: moto.url });
    const location =
      "<CreateBucketConfiguration><LocationConstraint>eu-central-1</LocationConstraint></CreateBucketConfiguration>";
    const made = await fetch(`${moto.url}/fleet-records`, {
      method: "PUT",
      body: location,
      headers: { authorization: "AWS4-HMAC-SHA256 Credential=test/20260101/eu-central-1/s3/aws4_request" },
    });
    expect(made.status).toBe(200);
  });
  afterAll(() => moto.close());

  const open = (reference: string): RecordStore => {
    const store = openRecord(reference);
    if (store === undefined) throw new Error(`${reference} names no record`);
    return store;
  };
  describeRecord(async () => {
    records += 1;
    return open(`s3://fleet-records/cells/cell-${records}.json`);
  });

  test("in a missing bucket is unreadable, which is not the same as missing", async () => {
    const store = open("s3://no-such-bucket/fleet.json");
    await expect(store.read(signal)).rejects.toThrow(
      "s3://no-such-bucket/fleet.json cannot be read (404 NoSuchBucket)",
    );
    await expect(store.swap("{}", undefined, signal)).rejects.toThrow("cannot be written (404 NoSuchBucket)");
  });

  test("that is gone by the time of the write is not written", async () => {
    const store = open("s3://fleet-records/gone.json");
    expect(await store.swap("{}", '"0123456789abcdef0123456789abcdef"', signal)).toBe(false);
    expect(await store.read(signal)).toEqual({ kind: "absent" });
  });
});
