import { describe, expect, test } from "vitest";
import type { ConfigurationFault } from "#cli/configuration-error.ts";
import { type HomeSettingFlags, openAnyHome } from "#cli/management-cluster.ts";
import { clustersOfHome } from "#functions/parts/clusters-of-home.ts";

const HOME = "ssm:/ccm/clusters/";

describe("the settings of a home that others write to", () => {
  async function faultsOf(flags: HomeSettingFlags, environment = {}): Promise<readonly string[]> {
    const faults: ConfigurationFault[] = [];
    const { kind } = await openAnyHome(HOME, flags, faults, environment);
    expect(kind).toBe("ssm");
    return faults.map(({ name, message }) => `${name}: ${message}`);
  }

  test.each<[string, HomeSettingFlags, object]>([
    ["nothing", {}, {}],
    ["an empty variable", {}, { ALLOWED_SECRETS: "" }],
    ["no annotation", { clusterAnnotations: "" }, {}],
    ["several", { clusterAnnotations: "name, cloud.vpc", allowedSecrets: "ssm:/a/ secretsmanager:b" }, {}],
    ["a flag in spite of the environment", { allowedSecrets: "ssm:/a/" }, { ALLOWED_SECRETS: "rubbish" }],
  ])("may be %s", async (_, flags, environment) => {
    expect(await faultsOf(flags, environment)).toEqual([]);
  });

  test.each<[HomeSettingFlags, object, readonly RegExp[]]>([
    [
      { clusterAnnotations: "cloud.vcp,cloud.roleArn" },
      {},
      [/--cluster-annotations: "cloud.vcp" .* did you mean cloud.vpc\?/, /"cloud.roleArn" is no key/],
    ],
    [{ allowedSecrets: "tenants/" }, {}, [/^--allowed-secrets: "tenants\/" is no prefix of secrets; write/]],
    [{}, { ALLOWED_SECRETS: "ssm:,file:/etc" }, [/^ALLOWED_SECRETS: "ssm:"/, /"file:\/etc" is no prefix/]],
  ])("are told what is wrong with %j and %j", async (flags, environment, says) => {
    expect(await faultsOf(flags, environment)).toEqual(says.map((each) => expect.stringMatching(each)));
  });

  test("are those of a deployed function, too, where rubbish allows nothing and stops nothing", () => {
    for (const ALLOWED_SECRETS of ["ssm:/tenants/", "rubbish", ""])
      expect(clustersOfHome({ CLUSTERS_FILE: HOME, ALLOWED_SECRETS }).clusters).toBeTypeOf("function");
  });
});
