//! The loop that joins the parts: input, schedule, spawner, output, joblog.
