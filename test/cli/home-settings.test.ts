import { describe, expect, test } from "vitest";
import { openAnyRegistry, type RegistrySettingFlags } from "#cli/clusters/management-cluster.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";
import { openDeployedClusters } from "#functions/parts/deployed-clusters.ts";

const HOME = "ssm:/ccm/clusters/";

describe("the settings of a registry that others write to", () => {
  async function faultsOf(flags: RegistrySettingFlags, environment = {}): Promise<readonly string[]> {
    const faults: ConfigurationFault[] = [];
    const { kind } = await openAnyRegistry(HOME, flags, faults, environment);
    expect(kind).toBe("ssm");
    return faults.map(({ name, message }) => `${name}: ${message}`);
  }

  test.each<[string, RegistrySettingFlags, object]>([
    ["nothing", {}, {}],
    ["an empty variable", {}, { ALLOWED_SECRETS: "" }],
    ["no annotation", { clusterAnnotations: "" }, {}],
    ["several", { clusterAnnotations: "name, cloud.vpc", allowedSecrets: "ssm:/a/ secretsmanager:b" }, {}],
    ["a flag in spite of the environment", { allowedSecrets: "ssm:/a/" }, { ALLOWED_SECRETS: "rubbish" }],
  ])("may be %s", async (_, flags, environment) => {
    expect(await faultsOf(flags, environment)).toEqual([]);
  });

  test.each<[RegistrySettingFlags, object, readonly RegExp[]]>([
    [
      { clusterAnnotations: "cloud.vcp,cloud.roleArn" },
      {},
      [/--cluster-annotations: "cloud.vcp" .* did you mean cloud.vpc\?/, /"cloud.roleArn" is not a key/],
    ],
    [
      { allowedSecrets: "tenants/" },
      {},
      [/^--allowed-secrets: "tenants\/" is not a prefix of secrets; write/],
    ],
    [{}, { ALLOWED_SECRETS: "ssm:,file:/etc" }, [/^ALLOWED_SECRETS: "ssm:"/, /"file:\/etc" is not a prefix/]],
  ])("are rejected with the faults in %j and %j", async (flags, environment, says) => {
    expect(await faultsOf(flags, environment)).toEqual(says.map((each) => expect.stringMatching(each)));
  });

  test("also apply to a deployed function, where invalid values allow nothing and stop nothing", () => {
    for (const ALLOWED_SECRETS of ["ssm:/tenants/", "rubbish", ""])
      expect(openDeployedClusters({ CLUSTERS_FILE: HOME, ALLOWED_SECRETS }).clusters).toBeTypeOf("function");
  });
});
