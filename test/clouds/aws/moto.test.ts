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

  // moto shows an instance at once and gives each a private name of its own; the embedded EC2, which keeps the same
  // contract of EC2's API, plays those rows.
  cloudConformance("aws", () => awsHttpWorld(moto.url, IMAGE_ID), ["hiding", "ambiguity"]);
});
