import { afterAll, beforeAll, describe } from "vitest";
import { awsHttpWorld } from "#test/clouds/aws/http-world.ts";
import { type Moto, motoServer, startMoto } from "#test/clouds/aws/moto.ts";
import { cloudConformance } from "#test/clouds/conformance.ts";

/** One of the images that moto knows. */
const IMAGE_ID = "ami-12c6146b";

const program = motoServer();

describe.skipIf(program === undefined)("on moto", () => {
  let moto: Moto;
  beforeAll(async () => {
    moto = await startMoto(program ?? "");
  });
  afterAll(() => moto.close());

  cloudConformance("aws", () => awsHttpWorld(moto.url, IMAGE_ID));
});
