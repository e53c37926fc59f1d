import { type Answer, type Call, faultOf, resultOf, succeeded } from "../call.ts";
import { type Behind, filterForm, type Mend, type Mends } from "../mend.ts";
import { child, listOf, setChild, textOf, type XmlElement } from "../xml.ts";

/** Quotas that mends keep. */
export interface RouteQuota {
  /** Routes of a table besides its local ones, of each family. */
  routesPerTable: number;
}

/** Routes, and the source/destination check of where they lead. */
export function routes(quota: RouteQuota): Mends {
  return {
    byOperation: {
      "ec2:CreateRoute": async (call, next, behind) => {
        const destination = destinationOf(call);
        const wrong = await wrongTarget(call, behind);
        if (wrong !== undefined) return wrong;
        const table = call.parameters.text("RouteTableId") ?? "";
        const found = await behind.ask("ec2", "DescribeRouteTables", filterForm("route-table-id", [table]));
        const existing = listOf(listOf(found, "routeTableSet").at(0), "routeSet").filter(
          (each) => textOf(each, "gatewayId") !== "local",
        );
        if (existing.some((each) => cidrOf(each) === destination))
          return faultOf(
            call,
            "RouteAlreadyExists",
            `The route identified by ${destination} already exists.`,
          );
        const family = existing.filter((each) => cidrOf(each)?.includes(":") === destination?.includes(":"));
        if (family.length >= quota.routesPerTable)
          return faultOf(
            call,
            "RouteLimitExceeded",
            `The maximum number of routes has been reached for route table ${table} (${quota.routesPerTable})`,
          );
        return next(call);
      },
      "ec2:ReplaceRoute": async (call, next, behind) => (await wrongTarget(call, behind)) ?? next(call),
      "ec2:DescribeRouteTables": describe,
      "ec2:ModifyInstanceAttribute": checkOfInstance,
      "ec2:ModifyNetworkInterfaceAttribute": checkOfInterface,
    },
    forget: () => {
      quota.routesPerTable = Number.POSITIVE_INFINITY;
    },
  };
}

function destinationOf({ parameters }: Call): string | undefined {
  return parameters.text("DestinationCidrBlock") ?? parameters.text("DestinationIpv6CidrBlock");
}

function cidrOf(route: XmlElement): string | undefined {
  return textOf(route, "destinationCidrBlock") ?? textOf(route, "destinationIpv6CidrBlock");
}

// A route leads to the one interface of an instance that is there.
async function wrongTarget(call: Call, behind: Behind): Promise<Answer | undefined> {
  const id = call.parameters.text("InstanceId");
  if (id === undefined) return undefined;
  const instance = (await instancesOf([id], behind)).get(id);
  if (instance === undefined || stateOf(instance) === "terminated")
    return faultOf(call, "InvalidInstanceID.NotFound", `The instance ID '${id}' does not exist`);
  return oneInterface(call, instance);
}

function oneInterface(call: Call, instance: XmlElement): Answer | undefined {
  if (listOf(instance, "networkInterfaceSet").length <= 1) return undefined;
  const id = textOf(instance, "instanceId");
  return faultOf(
    call,
    "InvalidInstanceID",
    `There are multiple interfaces attached to instance '${id}'. Please specify an interface ID for the operation instead.`,
  );
}

const describe: Mend = async (call, next, behind) => {
  const answer = await next(call);
  if (!succeeded(answer)) return answer;
  const all = listOf(resultOf(answer), "routeTableSet").flatMap((table) => listOf(table, "routeSet"));
  const targets = all.filter((each) => has(each, "instanceId") || has(each, "networkInterfaceId"));
  if (targets.length === 0) return answer;
  const found = listOf(await behind.ask("ec2", "DescribeNetworkInterfaces", {}), "networkInterfaceSet");
  const interfaces = new Map(found.map((each) => [textOf(each, "networkInterfaceId") ?? "", each]));
  const ids = [...targets.map((each) => textOf(each, "instanceId")), ...found.map(instanceOf)];
  const instances = await instancesOf(
    [...new Set(ids.filter((id) => id !== undefined && id !== ""))] as string[],
    behind,
  );
  for (const route of targets) {
    const instance = instances.get(
      textOf(route, "instanceId") ||
        instanceOf(interfaces.get(textOf(route, "networkInterfaceId") ?? "")) ||
        "",
    );
    mendRoute(route, instance);
  }
  return answer;
};

/** A route to an instance names its interface, too, and one to an interface its instance; where neither runs it is a blackhole. */
function mendRoute(route: XmlElement, instance: XmlElement | undefined): void {
  const isUp = instance !== undefined && ["pending", "running"].includes(stateOf(instance));
  setChild(route, "state", isUp ? "active" : "blackhole");
  if (instance === undefined) return;
  const [primary] = listOf(instance, "networkInterfaceSet");
  if (!has(route, "instanceId")) setChild(route, "instanceId", textOf(instance, "instanceId"));
  if (!has(route, "networkInterfaceId") && primary !== undefined)
    setChild(route, "networkInterfaceId", textOf(primary, "networkInterfaceId"));
}

function has(route: XmlElement, name: string): boolean {
  return (textOf(route, name) ?? "") !== "";
}

function instanceOf(eni: XmlElement | undefined): string | undefined {
  return textOf(child(eni, "attachment"), "instanceId");
}

function stateOf(instance: XmlElement): string {
  return textOf(child(instance, "instanceState"), "name") ?? "";
}

async function instancesOf(ids: readonly string[], behind: Behind): Promise<ReadonlyMap<string, XmlElement>> {
  if (ids.length === 0) return new Map();
  const found = await behind.ask("ec2", "DescribeInstances", filterForm("instance-id", ids));
  const instances = listOf(found, "reservationSet").flatMap((each) => listOf(each, "instancesSet"));
  return new Map(instances.map((each) => [textOf(each, "instanceId") ?? "", each]));
}

// The check of an instance with one interface is that interface's.
const checkOfInstance: Mend = async (call, next, behind) => {
  const id = call.parameters.text("InstanceId") ?? "";
  const check = call.parameters.text("SourceDestCheck.Value");
  if (check === undefined) return next(call);
  const instance = (await instancesOf([id], behind)).get(id);
  if (instance === undefined)
    return faultOf(call, "InvalidInstanceID.NotFound", `The instance ID '${id}' does not exist`);
  const several = oneInterface(call, instance);
  if (several !== undefined) return several;
  const answer = await next(call);
  const [eni] = listOf(instance, "networkInterfaceSet");
  if (succeeded(answer) && eni !== undefined)
    await behind.ask("ec2", "ModifyNetworkInterfaceAttribute", {
      NetworkInterfaceId: textOf(eni, "networkInterfaceId") ?? "",
      "SourceDestCheck.Value": check,
    });
  return answer;
};

const checkOfInterface: Mend = async (call, next, behind) => {
  const check = call.parameters.text("SourceDestCheck.Value");
  const answer = await next(call);
  if (check === undefined || !succeeded(answer)) return answer;
  const id = call.parameters.text("NetworkInterfaceId") ?? "";
  const found = await behind.ask("ec2", "DescribeNetworkInterfaces", { "NetworkInterfaceId.1": id });
  const [eni] = listOf(found, "networkInterfaceSet");
  const instance = instanceOf(eni);
  if (instance !== undefined && textOf(child(eni, "attachment"), "deviceIndex") === "0")
    await behind.ask("ec2", "ModifyInstanceAttribute", {
      InstanceId: instance,
      "SourceDestCheck.Value": check,
    });
  return answer;
};
