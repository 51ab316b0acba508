// Where the study of a stage lies: in study.db of the stage's folder, or in a database, of which study.db is a copy
// then. database.json in the folder says which study of the database is this stage's. Private to the module.
#pragma once

#include <memory>

#include "plan/study_plan.h"
#include "study/place.h"

namespace trainlab {

struct StudyHome {
  StudyPlace place;
  bool is_in_database = false;
  bool is_joined = false;  // the study of another run, which this run helps with (`trainlab worker --study`)
};

// The home that the stage has, or a new one where the stage begins: in the database of the option `storage`, of
// --study, where this run joins the newest unfinished study, or of TRAINLAB_STORAGE. A stage that is not kept has its
// study in its folder. An engine that helps waits until the engine that owns the stage has made it. Error{usage} when
// there is no study to join, Error{run} when the database cannot be reached, Error{interrupted} when the process is
// asked to stop meanwhile.
StudyHome find_home(const StudyPlan& plan, const StageContext& context);

// The further members of the description of a study in a database: what its run was begun with, and where the run lies.
Value run_description(const StageContext& context);

// study.db in the stage's folder, made anew, for a copy of the study with this description.
std::unique_ptr<Storage> empty_copy(const StageContext& context, const Value& description);

// How this process waits for a database that is away.
Waiting waiting_of(const StageContext& context);

}  // namespace trainlab
