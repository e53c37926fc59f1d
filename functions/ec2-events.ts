import { ec2EventsFunction } from "#functions/parts/ec2-events/ec2-events-function.ts";
import { ec2EventsWorld } from "#functions/parts/ec2-events/ec2-events-world.ts";

/** EC2's state changes as EventBridge sends them: the nodes of instances that end are looked at now, and not at the next turn. */
export const handler = ec2EventsFunction(ec2EventsWorld(process.env));
