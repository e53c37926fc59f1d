import { afterAll, beforeAll } from "vitest";
import { awsHttpWorld } from "#test/clouds/aws/http-world.ts";
import { cloudConformance } from "#test/clouds/conformance.ts";
import { type Moto, startMoto } from "#test/setup/moto.ts";
import { describeWithPart } from "#test/setup/parts.ts";

/** One of the images that moto knows. */
const IMAGE_ID = "ami-12c6146b";

describeWithPart("moto", "on moto", (program) => {
  let moto: Moto;
  beforeAll(async () => {
    moto = await startMoto(program);
  });
  afterAll(() => moto.close());

  // The embedded EC2, which keeps the same contract of EC2's API, plays what moto cannot.
  cloudConformance("aws", () => awsHttpWorld(moto.url, IMAGE_ID), {
    cannotPlay: [
      { row: "hiding", because: "moto shows an instance at once" },
      {
        row: "takeover",
        because: "moto fails where an instance is to have the address of one that has ended",
      },
      { row: "ambiguity", because: "moto gives each instance a private name of its own" },
    ],
  });
});
