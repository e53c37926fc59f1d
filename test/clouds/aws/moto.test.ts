import { afterAll, beforeAll } from "vitest";
import { createAwsHttpWorld } from "#test/clouds/aws/http-world.ts";
import { testCloudConformance } from "#test/clouds/conformance.ts";
import { type Moto, startMoto } from "#test/setup/moto.ts";
import { describeWithPart } from "#test/setup/parts.ts";

/** One of the images that moto knows. */
const IMAGE_ID = "ami-0abcdef1234567890";

describeWithPart("moto", "on moto", (program) => {
  let moto: Moto;
  beforeAll(async () => {
    moto = await startMoto(program);
  });
  afterAll(() => moto.close());

  // The embedded EC2 covers what moto cannot; it keeps the same contract of EC2's API.
  testCloudConformance("aws", () => createAwsHttpWorld(moto.url, IMAGE_ID), {
    cannotPlay: [
      { row: "hiding", because: "moto shows an instance immediately" },
      {
        row: "takeover",
        because: "moto fails if a new instance gets the address of a terminated one",
      },
      { row: "ambiguity", because: "moto gives each instance a private name of its own" },
    ],
  });
});
